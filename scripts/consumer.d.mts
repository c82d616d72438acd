export function installPacked(links?: string[]): string;
