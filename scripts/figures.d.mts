export const PENDING_BYTES: number;
export const pages: string[];
export function renewed(page: string): string;
