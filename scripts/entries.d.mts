export const root: string;
export const manifest: {
  name: string;
  version: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  exports: Record<string, unknown>;
};
export const entries: [subpath: string, sources: Record<string, string> & { default: string }][];
export const expectedExports: Record<string, string | Record<string, string>>;
export const privateEntries: string[];
export const expectedBin: Record<string, string>;
export function hasSource(source: string): boolean;
export function importName(subpath: string): string;
