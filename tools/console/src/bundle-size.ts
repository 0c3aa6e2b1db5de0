import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

/** Compressed script that a browser loads before it shows the first page. */
export const FIRST_LOAD_LIMIT_BYTES = 250_000;

/** Vite's manifest: each chunk by the name of its source. */
export type Manifest = Readonly<
  Record<
    string,
    {
      readonly file: string;
      readonly isEntry?: boolean;
      readonly imports?: readonly string[];
      readonly dynamicImports?: readonly string[];
    }
  >
>;

export interface BundleSize {
  /** The entry with all its static imports. */
  readonly firstLoadBytes: number;
  /** Bytes that each dynamic import adds to the first load, largest first. */
  readonly lazyChunks: readonly { readonly name: string; readonly bytes: number }[];
}

export function readBundleSize(folder: string): BundleSize {
  const manifest = JSON.parse(readFileSync(path.join(folder, '.vite', 'manifest.json'), 'utf8')) as Manifest;
  return computeBundleSize(
    manifest,
    (file) => gzipSync(readFileSync(path.join(folder, file)), { level: 9 }).length,
  );
}

export function computeBundleSize(manifest: Manifest, bytesOf: (file: string) => number): BundleSize {
  const entries = Object.keys(manifest).filter((name) => manifest[name]?.isEntry === true);
  if (entries.length === 0) throw new Error('The manifest of the build has no entry.');
  const first = reachableChunks(manifest, entries);
  const lazy = new Set(Object.values(manifest).flatMap((chunk) => chunk.dynamicImports ?? []));
  const sum = (files: Iterable<string>): number =>
    [...files].filter((file) => file.endsWith('.js')).reduce((total, file) => total + bytesOf(file), 0);
  const lazyChunks = [...lazy].map((name) => {
    const added = [...reachableChunks(manifest, [name])].filter((file) => !first.has(file));
    return { name, bytes: sum(added) };
  });
  return { firstLoadBytes: sum(first), lazyChunks: lazyChunks.toSorted((a, b) => b.bytes - a.bytes) };
}

/** Files of these chunks and of their static imports. */
function reachableChunks(manifest: Manifest, names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const files = new Set<string>();
  const addChunk = (name: string): void => {
    const chunk = manifest[name];
    if (seen.has(name) || chunk === undefined) return;
    seen.add(name);
    files.add(chunk.file);
    (chunk.imports ?? []).forEach(addChunk);
  };
  names.forEach(addChunk);
  return files;
}
