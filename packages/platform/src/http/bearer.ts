import { Fault } from '../fault/index.ts';

/** Reads the key from `Authorization: Bearer <key>`. The scheme is case-insensitive (RFC 9110). */
export function readBearer(header: string | undefined): string {
  if (header === undefined || header.trim() === '') throw new Fault('MISSING_API_KEY');
  const [, key] = /^bearer +(\S{1,512})$/i.exec(header.trim()) ?? [];
  if (key === undefined) throw new Fault('MALFORMED_API_KEY');
  return key;
}
