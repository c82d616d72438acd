/** POST is safe to retry here, because it carries a key; 409 says that the first is still at work. */
export const retry = {
  limit: 5,
  methods: ["post"],
  statusCodes: [408, 409, 413, 429, 500, 502, 503, 504],
  afterStatusCodes: [409, 413, 429, 503],
  retryOnTimeout: true,
  jitter: true,
};
