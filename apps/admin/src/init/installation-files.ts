import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncPath } from '@millrace/platform/files';
import { hasErrorCode } from '../error-code.ts';
import type { GroupId } from './system-groups.ts';

export interface Access {
  /** Null: root. */
  readonly group: string | null;
  readonly mode: number;
}

export interface FileReport {
  readonly written: readonly string[];
  readonly unchanged: readonly string[];
  /** Files that differ from what this command wrote, so an operator changed them. */
  readonly edited: readonly string[];
}

/** Digests of the contents that this command wrote, which distinguish them from an operator's. */
const recordName = '.init.json';
const recordAccess: Access = { group: null, mode: 0o644 };
/** Digests of each file: an interrupted upgrade can leave the file of an earlier release. */
const MAX_DIGESTS = 8;

type WrittenDigests = Record<string, readonly string[]>;

/** Writes the files of an installation, each completely or not at all. Paths are relative to its folder. */
export class InstallationFiles {
  readonly #folder: string;
  readonly #groupId: GroupId;
  readonly #outcomes = new Map<string, keyof FileReport>();
  #digests: WrittenDigests | null = null;

  constructor(folder: string, groupId: GroupId) {
    this.#folder = folder;
    this.#groupId = groupId;
  }

  report(): FileReport {
    const withOutcome = (wanted: keyof FileReport): string[] =>
      [...this.#outcomes].flatMap(([file, outcome]) => (outcome === wanted ? [file] : []));
    return {
      written: withOutcome('written'),
      unchanged: withOutcome('unchanged'),
      edited: withOutcome('edited'),
    };
  }

  pathOf(file: string): string {
    return join(this.#folder, file);
  }

  async ensureFolder(folder: string, access: Access): Promise<void> {
    const path = this.pathOf(folder);
    await mkdir(path, { recursive: folder === '', mode: 0o700 }).catch(ignoreExisting);
    await this.#applyAccess(path, access);
  }

  /** Null if the file does not exist. */
  async read(file: string): Promise<string | null> {
    try {
      return await readFile(this.pathOf(file), 'utf8');
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  /** Returns the content of a file that is created only once, such as a secret. */
  async ensure(file: string, access: Access, create: () => string | Promise<string>): Promise<string> {
    const existing = await this.read(file);
    if (existing === null) return this.replace(file, access, await create());
    await this.#applyAccess(this.pathOf(file), access);
    this.#setOutcome(file, 'unchanged');
    return existing;
  }

  /** Writes a file whatever it contained. */
  async replace(file: string, access: Access, content: string): Promise<string> {
    await this.#writeFile(file, access, content);
    this.#setOutcome(file, 'written');
    return content;
  }

  /** Writes a configuration file, unless an operator changed it. */
  async configure(file: string, access: Access, content: string): Promise<void> {
    const existing = await this.read(file);
    const digests = await this.#readDigests();
    const written = digests[file] ?? [];
    if (existing !== null && existing !== content && !written.includes(digestOf(existing))) {
      // The operator may have added a secret to a file that everyone can read, and have made it private.
      if (access.group !== null) await this.#applyAccess(this.pathOf(file), access);
      this.#setOutcome(file, 'edited');
      return;
    }
    // Recorded first: a file that was written without a record would look edited after the next release.
    if (!written.includes(digestOf(content))) {
      this.#digests = { ...digests, [file]: [...written, digestOf(content)].slice(-MAX_DIGESTS) };
      await this.#writeFile(recordName, recordAccess, `${JSON.stringify(this.#digests, null, 2)}\n`);
    }
    await (existing === content
      ? this.ensure(file, access, () => content)
      : this.replace(file, access, content));
  }

  #setOutcome(file: string, outcome: keyof FileReport): void {
    if (this.#outcomes.get(file) !== 'written') this.#outcomes.set(file, outcome);
  }

  async #readDigests(): Promise<WrittenDigests> {
    // Only this command writes the file.
    this.#digests ??= JSON.parse((await this.read(recordName)) ?? '{}') as WrittenDigests;
    return this.#digests;
  }

  async #writeFile(file: string, access: Access, content: string): Promise<void> {
    const path = this.pathOf(file);
    const draft = join(dirname(path), `.${basename(path)}.new`);
    // An interrupted run may have left a draft.
    await rm(draft, { force: true });
    const handle = await open(draft, 'wx', 0o600);
    try {
      const { gid, mode } = await this.#ownerOf(access);
      if (gid !== null) await handle.chown(ownUid(), gid);
      await handle.chmod(mode);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
    await syncPath(dirname(path));
  }

  async #applyAccess(path: string, access: Access): Promise<void> {
    const { gid, mode } = await this.#ownerOf(access);
    const found = await stat(path);
    if (gid !== null && (found.uid !== ownUid() || found.gid !== gid)) await chown(path, ownUid(), gid);
    if ((found.mode & 0o7777) !== mode) await chmod(path, mode);
  }

  async #ownerOf({ group, mode }: Access): Promise<{ readonly gid: number | null; readonly mode: number }> {
    if (group === null) return { gid: ownGid(), mode };
    const gid = await this.#groupId(group);
    // The group of this user must not read the secrets of another.
    return { gid, mode: gid === null ? mode & 0o700 : mode };
  }
}

const ownUid = (): number => process.getuid?.() ?? 0;
const ownGid = (): number => process.getgid?.() ?? 0;

function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

function ignoreExisting(error: unknown): void {
  if (!hasErrorCode(error, 'EEXIST')) throw error;
}
