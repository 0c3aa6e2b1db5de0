import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contract } from '@millrace/contract';
import type { DocumentName } from '@millrace/contract';
import { buildDocument, type OpenApiDocument } from '@millrace/contract/openapi';

/** `openapi/` contains the current documents, `openapi/released/` those of the last release. */
export const root = join(import.meta.dirname, '..', '..', '..');
const folder = join(root, 'openapi');

export function documentFile(name: DocumentName): string {
  return join(folder, `${name}.json`);
}

function releasedFile(name: DocumentName): string {
  return join(folder, 'released', `${name}.json`);
}

/** The same contract always gives the same bytes. */
export function render(name: DocumentName): string {
  return `${JSON.stringify(buildDocument(contract, name), null, 2)}\n`;
}

export function readCommitted(name: DocumentName): string | null {
  return readIfPresent(documentFile(name));
}

/** Null before the first release. */
export function readReleased(name: DocumentName): OpenApiDocument | null {
  const text = readIfPresent(releasedFile(name));
  return text === null ? null : (JSON.parse(text) as OpenApiDocument);
}

export function writeCommitted(name: DocumentName, text: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(documentFile(name), text);
}

export function writeReleased(name: DocumentName, text: string): void {
  mkdirSync(join(folder, 'released'), { recursive: true });
  writeFileSync(releasedFile(name), text);
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
