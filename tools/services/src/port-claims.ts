import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { Failure } from './failure.ts';
import { withLock } from './lock.ts';
import { isPortFree } from './ports.ts';
import { identify, isAlive, type ProcessIdentity } from './processes.ts';
import { portSpan, recordedPortBase, writeAtomically, type Site } from './site.ts';

// A block of ports is looked at, then recorded, and only then listened on. A claim holds it meanwhile, so that two who
// look at the same moment do not take the same one; and later, so that a site keeps its block while it is stopped.

/** Who took a block: it counts while that process lives, or while its state folder says that it uses this block. */
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

/** Under this lock there are no races to think of, and the kernel opens it when its holder dies. */
function locked<T>(cacheDir: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(folderOf(cacheDir), { recursive: true });
  return withLock(path.join(folderOf(cacheDir), 'lock'), () => {}, work);
}

/** Takes the first block, counting up from `first`, that nobody claims or listens on. */
export function claimFreeBlock(claimant: Claimant, first: number): Promise<number> {
  return locked(claimant.cacheDir, async () => {
    const others = otherClaims(claimant);
    for (let base = first; base + portSpan <= 32_768; base += portSpan) {
      if (!others.some((claim) => overlap(claim.portBase, base)) && (await isBlockFree(base))) {
        write(claimant, base);
        return base;
      }
    }
    throw new Failure(`No ${portSpan} free ports in a row were found above ${first}.`, 'Stop something.');
  });
}

/** Says that a block which a person chose is in use; whether they may have it, the ports themselves will tell. */
export function claimChosenBlock(claimant: Claimant, portBase: number): Promise<void> {
  return locked(claimant.cacheDir, async () => {
    if (!otherClaims(claimant).some((claim) => overlap(claim.portBase, portBase))) write(claimant, portBase);
  });
}

/** Gives up what a state folder that is being removed had claimed. */
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

/** The claims of others that still count. Those that do not are removed on the way. */
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
    // Written whole and by rename, so its shape is known if it is there.
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
    // A damaged state folder cannot tell. Nothing of it can start again as it is.
    return false;
  }
}
