import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { eventually } from '../time/eventually.ts';

/** Patroni and PostgreSQL of one machine, in a PID namespace, so that one signal ends or freezes all of their processes. */
export class PatroniNode {
  readonly name: string;
  readonly port: number;
  readonly restUrl: string;
  readonly #folder: string;
  readonly #configFolder: string;
  #holder: ChildProcess | null = null;

  constructor(options: {
    readonly name: string;
    readonly port: number;
    readonly restPort: number;
    /** Has `data` and `patroni.log`. */
    readonly folder: string;
    /** The folder of configuration files that Patroni merges. */
    readonly configFolder: string;
  }) {
    this.name = options.name;
    this.port = options.port;
    this.restUrl = `http://127.0.0.1:${options.restPort}`;
    this.#folder = options.folder;
    this.#configFolder = options.configFolder;
  }

  async start(): Promise<void> {
    // Each namespace numbers its processes from 1, so the number in this file may belong to another process now.
    await rm(path.join(this.#folder, 'data', 'postmaster.pid'), { force: true });
    const log = openSync(path.join(this.#folder, 'patroni.log'), 'a');
    const namespaces = ['--pid', '--mount', '--mount-proc', '--propagation', 'private', '--fork'];
    // A change of the user clears the signal that `--kill-child` sets, so the inner setpriv sets it again.
    const asPostgres = ['--reuid=postgres', '--regid=postgres', '--init-groups', '--pdeathsig', 'KILL'];
    const words = ['unshare', ...namespaces, 'setpriv', ...asPostgres, 'patroni', this.#configFolder];
    this.#holder = spawn('setpriv', ['--pdeathsig', 'KILL', ...words], {
      cwd: '/',
      // Otherwise libpq looks for certificates in the folder of the caller's user.
      env: { PATH: process.env['PATH'] ?? '', HOME: this.#folder },
      stdio: ['ignore', log, log],
    });
    await once(this.#holder, 'spawn');
  }

  /** kill -9 of Patroni and PostgreSQL at once, as when the machine is lost. Resolves when all have ended. */
  async kill(): Promise<void> {
    const holder = this.#holder;
    this.#holder = null;
    if (holder === null || holder.exitCode !== null || holder.signalCode !== null) return;
    const exited = once(holder, 'exit');
    const first = await eventually({ what: `${this.name} to have a first process` }, () =>
      childrenOf(Number(holder.pid)).at(0),
    );
    process.kill(first, 'SIGKILL');
    await exited;
  }

  /** SIGSTOP of all processes: connections stay open, and nothing answers. */
  freeze(): void {
    for (const pid of this.#processes()) process.kill(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.#processes()) process.kill(pid, 'SIGCONT');
  }

  /** SIGSTOP of Patroni alone: PostgreSQL continues to work although its machine lost the lock of the leader. */
  freezePatroni(): void {
    for (const pid of this.#patroni()) process.kill(pid, 'SIGSTOP');
  }

  thawPatroni(): void {
    for (const pid of this.#patroni()) process.kill(pid, 'SIGCONT');
  }

  log(): string {
    return readFileSync(path.join(this.#folder, 'patroni.log'), 'utf8');
  }

  #patroni(): number[] {
    return this.#processes().filter((pid) => commandOf(pid).includes('/patroni'));
  }

  /** The first process of the namespace and its descendants, parents first. */
  #processes(): number[] {
    const found = childrenOf(Number(this.#holder?.pid));
    for (const pid of found) found.push(...childrenOf(pid));
    return found;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
