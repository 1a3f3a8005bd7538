package web

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/google/uuid"

	"steward/internal/db"
)

// requiredMark begins the message about a missing property. huma reports that at the parent; the mark
// lets fieldOf find the name and put it into the path, as every other message has it.
const requiredMark = "\x00"

// huma keeps its wording and a few rules in package variables, so they are set once for the process.
// No message carries a value: it could be a password.
func init() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.ErrorFormatter = formatMessage
	validation.MsgExpectedRequiredProperty = requiredMark + "%s"
	validation.MsgExpectedDependentRequiredProperty = "needs %s beside %s"
	validation.MsgUnexpectedProperty = "is not known"
	validation.MsgExpectedBoolean = "must be true or false"
	validation.MsgExpectedNumber = "must be a number"
	validation.MsgExpectedInteger = "must be a whole number"
	validation.MsgExpectedString = "must be a string"
	validation.MsgExpectedArray = "must be an array"
	validation.MsgExpectedObject = "must be an object"
	validation.MsgExpectedOneOf = "must be one of: %s"
	validation.MsgExpectedMinimumNumber = "must be at least %v"
	validation.MsgExpectedExclusiveMinimumNumber = "must be more than %v"
	validation.MsgExpectedMaximumNumber = "must be at most %v"
	validation.MsgExpectedExclusiveMaximumNumber = "must be less than %v"
	validation.MsgExpectedNumberBeMultipleOf = "must be a multiple of %v"
	validation.MsgExpectedMinLength = "must have at least %d characters"
	validation.MsgExpectedMaxLength = "must have at most %d characters"
	validation.MsgExpectedBePattern = "must be %s"
	validation.MsgExpectedMatchPattern = "must match %s"
	validation.MsgExpectedMinItems = "must have at least %d items"
	validation.MsgExpectedMaxItems = "must have at most %d items"
	validation.MsgExpectedArrayItemsUnique = "must not repeat an item"
	validation.MsgExpectedMinProperties = "must have at least %d members"
	validation.MsgExpectedMaxProperties = "must have at most %d members"
	validation.MsgExpectedMatchAtLeastOneSchema = "has none of the allowed forms"
	validation.MsgExpectedMatchExactlyOneSchema = "has none of the allowed forms"
	validation.MsgExpectedNotMatchSchema = "has a form that is not allowed"
	validation.MsgExpectedPropertyNameInObject = "is required"
	validation.MsgExpectedRFC3339DateTime = "must be a timestamp such as 2026-01-31T12:00:00Z"
	validation.MsgExpectedRFC1123DateTime = "must be a date such as Sat, 31 Jan 2026 12:00:00 GMT"
	validation.MsgExpectedRFC3339Date = "must be a date such as 2026-01-31"
	validation.MsgExpectedRFC3339Time = "must be a time such as 12:00:00"
	validation.MsgExpectedDuration = "must be a duration such as 90s"
	validation.MsgExpectedRFC5322Email = "must be an e-mail address"
	validation.MsgExpectedRFC5890Hostname = "must be a host name"
	validation.MsgExpectedRFC2673IPv4 = "must be an IPv4 address"
	validation.MsgExpectedRFC2373IPv6 = "must be an IPv6 address"
	validation.MsgExpectedRFCIPAddr = "must be an IP address"
	validation.MsgExpectedRFC3986URI = "must be a URI"
	validation.MsgExpectedRFC6570URITemplate = "must be a URI template"
	validation.MsgExpectedRFC4122UUID = "must be a UUID"
	validation.MsgExpectedRFC6901JSONPointer = "must be a JSON pointer"
	validation.MsgExpectedRFC6901RelativeJSONPointer = "must be a relative JSON pointer"
	validation.MsgExpectedRegexp = "must be a regular expression"
	validation.MsgExpectedBase64String = "must be base64"
}

// schemaPrefix is where the document keeps its schemas.
const schemaPrefix = "#/components/schemas/"

// formatMessage writes a rule as people say it: numbers without an exponent, and nothing about one
// character where "not empty" is meant.
func formatMessage(format string, args ...any) string {
	if !strings.Contains(format, "%") {
		return format
	}
	least := format == validation.MsgExpectedMinLength || format == validation.MsgExpectedMinItems
	if n, ok := args[0].(int); ok && n == 1 && least {
		return "must not be empty"
	}
	for i, arg := range args {
		if number, ok := arg.(float64); ok {
			args[i] = strconv.FormatFloat(number, 'f', -1, 64)
		}
	}
	return fmt.Sprintf(format, args...)
}

// newRegistry makes the list of schemas. Unknown fields of a body are ignored, because clients are
// older or newer than the server.
func newRegistry() huma.Registry {
	config := huma.Config{OpenAPI: &huma.OpenAPI{}}
	config.AllowAdditionalPropertiesByDefault = true
	registry := huma.NewAPI(config, nil).OpenAPI().Components.Schemas // the only way to set that option
	registry.RegisterTypeAlias(reflect.TypeFor[db.Time](), reflect.TypeFor[timestamp]())
	registry.RegisterTypeAlias(reflect.TypeFor[uuid.UUID](), reflect.TypeFor[ID]())
	return registry
}

// timestamp stands for db.Time in schemas.
type timestamp struct{}

// Schema describes an instant.
func (timestamp) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}
