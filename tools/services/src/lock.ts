import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Note } from './engine.ts';
import { Failure } from './failure.ts';
import { elapsedMs } from './time.ts';

const LOCK_TIMEOUT_MS = 15 * 60 * 1000;

/**
 * Runs `work` under a file lock. A `flock` child holds the lock until its standard input closes, so the kernel releases it
 * however this process dies, and no lock is ever stale.
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
        return note(`waiting for process ${ownerOf(file)}, which holds the lock`);
      holder.kill();
      reject(
        new Failure(
          `Process ${ownerOf(file)} has held ${file} for 15 minutes.`,
          'If the process hangs, kill it and try again.',
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
        reject(
          new Failure(`flock could not be started: ${error.message}.`, 'Install the package util-linux.'),
        ),
      ),
    );
    holder.once('exit', (code) =>
      settle(() =>
        reject(
          new Failure(
            `${file} could not be locked (flock exited with ${code}).`,
            'Check that you may write to it.',
          ),
        ),
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
