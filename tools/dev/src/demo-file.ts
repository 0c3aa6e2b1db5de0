import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Credentials of the demo, stored beside the engines' state so that they stay the same. */
export interface Demo {
  readonly organisation: string;
  readonly email: string;
  /** Password of the demo user, for the console. */
  readonly password: string;
  readonly liveKey: string;
  readonly testKey: string;
}

type SavedDemo = Demo & { readonly apiUrl?: string; readonly inferenceUrl?: string };

export function readDemo(file: string): Partial<SavedDemo> | null {
  if (!existsSync(file)) return null;
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof read === 'object' ? read : null;
  } catch {
    // A damaged or hand-edited file costs only the old keys.
    return null;
  }
}

/** Contains keys, so only its owner may read it. The rename makes the write atomic. */
export function saveDemo(file: string, demo: SavedDemo): void {
  const fresh = `${file}.${String(process.pid)}`;
  writeFileSync(fresh, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, file);
}
