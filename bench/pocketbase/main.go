// Command pocketbase is the peer of the bench: PocketBase as it ships, used as a library, with one
// more command that fills its stock users collection.
package main

import (
	"fmt"
	"log"
	"strconv"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	app := pocketbase.New()
	app.RootCmd.AddCommand(&cobra.Command{
		Use:   "seed COUNT PASSWORD",
		Short: "create a superuser and COUNT users, all with one password",
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			count, err := strconv.Atoi(args[0])
			if err != nil {
				return fmt.Errorf("COUNT: %w", err)
			}
			return app.RunInTransaction(func(tx core.App) error { return seed(tx, count, args[1]) })
		},
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// seed writes the accounts with one hash of the stock cost: what is measured later is checking a
// password, and making a thousand hashes first would only make the bench slower.
func seed(tx core.App, count int, password string) error {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	if err != nil {
		return err
	}
	// Without a superuser PocketBase opens its installer in a browser when it starts.
	if err := insert(tx, core.CollectionNameSuperusers, "root@bench.example", "", hash); err != nil {
		return err
	}
	for i := range count {
		email := fmt.Sprintf("user%05d@bench.example", i)
		if err := insert(tx, "users", email, fmt.Sprintf("User %05d", i), hash); err != nil {
			return err
		}
	}
	return nil
}

func insert(tx core.App, collection, email, name string, hash []byte) error {
	c, err := tx.FindCollectionByNameOrId(collection)
	if err != nil {
		return err
	}
	record := core.NewRecord(c)
	record.SetEmail(email)
	record.SetVerified(true)
	record.RefreshTokenKey()
	record.SetRaw("password", &core.PasswordFieldValue{Hash: string(hash)})
	if name != "" {
		record.Set("name", name)
	}
	if err := tx.Save(record); err != nil {
		return fmt.Errorf("insert %s: %w", email, err)
	}
	return nil
}
