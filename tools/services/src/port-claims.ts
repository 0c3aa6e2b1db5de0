import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { Failure } from './failure.ts';
import { withLock } from './lock.ts';
import { isPortFree } from './ports.ts';
import { identify, isAlive, type ProcessIdentity } from './processes.ts';
import { portSpan, recordedPortBase, writeAtomically, type Site } from './site.ts';

// A site tests a block of ports, records it, and only then listens on it. A claim reserves the block in between, so that
// concurrent sites never take the same one, and keeps it reserved while the site is stopped.

/** Owner of a block. A claim is valid while its process is alive or its state folder records this block. */
interface Claim extends ProcessIdentity {
  readonly portBase: number;
  readonly stateDir: string;
}

type Claimant = Pick<Site, 'stateDir' | 'cacheDir'>;

function folderOf(cacheDir: string): string {
  return path.join(cacheDir, 'port-blocks');
}

function fileOf(cacheDir: string, portBase: number): string {
  return path.join(folderOf(cacheDir), `${portBase}.json`);
}

/** All claims change under this lock; the kernel releases it when its holder dies. */
function locked<T>(cacheDir: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(folderOf(cacheDir), { recursive: true });
  return withLock(path.join(folderOf(cacheDir), 'lock'), () => {}, work);
}

/** Takes the first block from `first` upwards that has no claim and no listener. */
export function claimFreeBlock(claimant: Claimant, first: number): Promise<number> {
  return locked(claimant.cacheDir, async () => {
    const others = otherClaims(claimant);
    for (let base = first; base + portSpan <= 32_768; base += portSpan) {
      if (!others.some((claim) => overlap(claim.portBase, base)) && (await isBlockFree(base))) {
        write(claimant, base);
        return base;
      }
    }
    throw new Failure(
      `No block of ${portSpan} free ports was found above ${first}.`,
      'Stop another site or program.',
    );
  });
}

/** Claims a block that the user chose, unless another site has claimed it. Listening on taken ports fails later. */
export function claimChosenBlock(claimant: Claimant, portBase: number): Promise<void> {
  return locked(claimant.cacheDir, async () => {
    if (!otherClaims(claimant).some((claim) => overlap(claim.portBase, portBase))) write(claimant, portBase);
  });
}

export function releaseClaim({ cacheDir, stateDir, portBase }: Site): Promise<void> {
  return locked(cacheDir, async () => {
    const file = fileOf(cacheDir, portBase);
    if (readClaim(file)?.stateDir === stateDir) rmSync(file);
  });
}

function overlap(one: number, other: number): boolean {
  return Math.abs(one - other) < portSpan;
}

async function isBlockFree(base: number): Promise<boolean> {
  const ports = Array.from({ length: portSpan }, (_, offset) => base + offset);
  return (await Promise.all(ports.map(isPortFree))).every(Boolean);
}

function write({ cacheDir, stateDir }: Claimant, portBase: number): void {
  const claim = { ...identify(process.pid), portBase, stateDir };
  writeAtomically(fileOf(cacheDir, portBase), `${JSON.stringify(claim)}\n`);
}

/** Returns the valid claims of other state folders and removes invalid ones. */
function otherClaims({ cacheDir, stateDir }: Claimant): Claim[] {
  return readdirSync(folderOf(cacheDir))
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const file = path.join(folderOf(cacheDir), name);
      const claim = readClaim(file);
      if (claim !== null && isClaimValid(claim)) return claim.stateDir === stateDir ? [] : [claim];
      rmSync(file, { force: true });
      return [];
    });
}

function readClaim(file: string): Claim | null {
  try {
    // Written atomically, so its shape is known if the file exists.
    return JSON.parse(readFileSync(file, 'utf8')) as Claim;
  } catch {
    return null;
  }
}

function isClaimValid(claim: Claim): boolean {
  if (isAlive(claim)) return true;
  try {
    return recordedPortBase(claim.stateDir) === claim.portBase;
  } catch {
    // A damaged state folder cannot start engines, so its claim is invalid.
    return false;
  }
}
