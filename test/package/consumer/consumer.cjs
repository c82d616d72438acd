const { createSdk, post } = require("samekey");
const { sqliteStore } = require("samekey/stores/sqlite");

import("./scenario.mjs")
  .then(({ scenario }) => scenario({ createSdk, post, sqliteStore }))
  .then(() => console.log(`require: ok on ${process.version}`));
