/** What JSON numbers and bigint columns both hold exactly. */
export const positive = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;

/** An account's number in a query. */
export const account = { type: "string", pattern: "^[1-9][0-9]{0,15}$" } as const;
