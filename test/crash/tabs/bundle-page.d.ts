/** The script of the page that leads lives, fault points included. `samekey` in it is the sources, as browsers get them. */
export function bundlePage(): Promise<string>;
