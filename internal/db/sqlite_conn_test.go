package db

import "testing"

func TestComparisonsWithAParameterKeepTheirPlan(t *testing.T) {
	for text, want := range map[string]string{
		`SELECT 1 FROM a WHERE b = $1 AND c<$2 OR d >= $13`: `SELECT 1 FROM a WHERE b = +$1 AND c< +$2 OR d >= +$13`,
		`SELECT 1 FROM a WHERE b LIKE $1 ESCAPE '\'`:        `SELECT 1 FROM a WHERE b LIKE +$1 ESCAPE '\'`,
		`INSERT INTO a (b, c) VALUES ($1, $2)`:              `INSERT INTO a (b, c) VALUES ($1, $2)`,
		`SELECT 1 FROM a WHERE b IN ($1, $2)`:               `SELECT 1 FROM a WHERE b IN ($1, $2)`,
	} {
		if got := bareParameter.ReplaceAllString(text, "${1} +${2}"); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
	}
}
