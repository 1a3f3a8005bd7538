// Opens the reference on this host alone: no fonts, proxy, telemetry or service of anybody else.
"use strict";

Scalar.createApiReference("#reference", {
  url: "openapi.json",
  // Whatever name this host is reached by is the one that requests may go to.
  servers: [{ url: new URL(".", location.href).href.replace(/\/$/, "") }],
  proxyUrl: "",
  externalUrls: { dashboardUrl: "", registryUrl: "", proxyUrl: "", apiBaseUrl: "" },
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  persistAuth: false,
  authentication: { preferredSecurityScheme: "bearer" },
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  orderSchemaPropertiesBy: "preserve",
  documentDownloadType: "json",
});
