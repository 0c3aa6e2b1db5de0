import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Note } from './engine.ts';
import { Failure } from './failure.ts';
import { elapsedMs } from './time.ts';

const LOCK_TIMEOUT_MS = 15 * 60 * 1000;

/**
 * Runs `work` while holding a lock on a file, waiting for whoever has it. The kernel keeps the lock for a
 * small child (`flock`) that lives exactly as long as its standard input, so however this process dies the
 * lock is released, and there is no stale lock to judge.
 */
export async function withLock<T>(file: string, note: Note, work: () => Promise<T>): Promise<T> {
  mkdirSync(path.dirname(file), { recursive: true });
  const holder = spawn('flock', [file, 'sh', '-c', 'echo held; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  try {
    await acquired(holder, file, note);
    writeFileSync(file, `${process.pid}\n`);
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}

function acquired(holder: ReturnType<typeof spawn>, file: string, note: Note): Promise<void> {
  const started = elapsedMs();
  return new Promise((resolve, reject) => {
    const waiting = setInterval(() => {
      if (elapsedMs() - started < LOCK_TIMEOUT_MS)
        return note(`waiting for process ${ownerOf(file)}, at work here`);
      holder.kill();
      reject(
        new Failure(
          `Process ${ownerOf(file)} has held ${file} for 15 minutes.`,
          'If it hangs, end it and try again.',
        ),
      );
    }, 5000);
    const settle = (finish: () => void): void => {
      clearInterval(waiting);
      finish();
    };
    holder.stdout?.once('data', () => settle(resolve));
    holder.once('error', (error) =>
      settle(() =>
        reject(new Failure(`flock could not be run: ${error.message}.`, 'Install the package util-linux.')),
      ),
    );
    holder.once('exit', (code) =>
      settle(() =>
        reject(new Failure(`${file} could not be locked (flock ended with ${code}).`, 'May it be written?')),
      ),
    );
  });
}

function ownerOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
