import { readBuildInfo } from '@millrace/platform/release';
import { contract } from '@millrace/contract';
import { readFileSync, writeFileSync } from 'node:fs';
import { printOperations, printReasons, printResources, printVersion } from './print-sdk.ts';
import type { Uncallable } from './print-sdk.ts';

/** Writes the generated files of the SDK and checks whether they are current. */

const sources = new URL('../../../packages/sdk/src/', import.meta.url);

export function readUncallable(): Uncallable {
  return JSON.parse(readFileSync(new URL('uncallable.json', sources), 'utf8')) as Uncallable;
}

export function generatedFiles(): Readonly<Record<string, string>> {
  const uncallable = readUncallable();
  return {
    'operations.generated.ts': printOperations(contract, uncallable),
    'reasons.generated.ts': printReasons(),
    'resources.generated.ts': printResources(contract),
    'version.generated.ts': printVersion(readBuildInfo(null).version),
  };
}

export function staleFiles(): readonly string[] {
  return Object.entries(generatedFiles())
    .filter(([name, text]) => readFileSync(new URL(name, sources), 'utf8') !== text)
    .map(([name]) => `packages/sdk/src/${name}`);
}

export function writeGenerated(): readonly string[] {
  const files = Object.entries(generatedFiles());
  for (const [name, text] of files) writeFileSync(new URL(name, sources), text);
  return files.map(([name]) => `packages/sdk/src/${name}`);
}
