import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';

// A clone of the template has a thousand small files, and a run creates hundreds of clones. ext4 does not reuse the
// inode of a deleted file for a minute, and checks each such inode for every new file: with one clone deleted per
// second, creating the next took over a second of CPU time. In memory it takes a tenth of that. Tests do not need
// durability.

const memoryFolder = '/dev/shm';
const folderPrefix = 'millrace-tests-';
const tablespaceName = 'millrace_tests';
/** Contains the data directory of the server that owns the folder. */
const ownerFile = 'data-directory';
/** A small container has 64 MB there, which is too little for one run. */
const memoryNeededBytes = 2 * 1024 ** 3;

async function hasMemory(): Promise<boolean> {
  if (process.getuid?.() !== 0 || !existsSync(memoryFolder)) return false;
  const { bavail, bsize } = await statfs(memoryFolder);
  return bavail * bsize >= memoryNeededBytes;
}

async function dataDirectory(client: Client): Promise<string> {
  const { rows } = await client.query<{ data_directory: string }>('show data_directory');
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL did not return its data directory.');
  return row.data_directory;
}

/** Removes folders of servers that no longer exist. */
async function removeOrphans(): Promise<void> {
  for (const name of await readdir(memoryFolder)) {
    if (!name.startsWith(folderPrefix)) continue;
    const owner = await readFile(join(memoryFolder, name, ownerFile), 'utf8').catch(() => null);
    // A folder without an owner file is being created by another checkout.
    if (owner !== null && !existsSync(owner))
      await rm(join(memoryFolder, name), { recursive: true, force: true });
  }
}

/**
 * The tablespace in memory for test databases of the connected server; null without enough memory, or if the server is
 * on another machine. The caller must hold a lock and must have dropped databases whose files a reboot removed.
 */
export async function ensureTablespace(client: Client): Promise<string | null> {
  const owner = await dataDirectory(client);
  if (!(await hasMemory()) || !existsSync(owner)) return null;
  const folder = join(
    memoryFolder,
    `${folderPrefix}${createHash('sha256').update(owner).digest('hex').slice(0, 12)}`,
  );
  const location = join(folder, 'space');
  const { rowCount } = await client.query('select 1 from pg_tablespace where spcname = $1', [tablespaceName]);
  if (rowCount === 1 && existsSync(location)) return tablespaceName;
  await removeOrphans();
  if (rowCount === 1) await client.query(`drop tablespace ${tablespaceName}`);
  // A server that was set up again at the same path does not know the files of its predecessor.
  await rm(location, { recursive: true, force: true });
  const { uid, gid } = await stat(owner);
  await mkdir(location, { recursive: true });
  await writeFile(join(folder, ownerFile), owner);
  await chown(location, uid, gid);
  await client.query(`create tablespace ${tablespaceName} location '${location}'`);
  return tablespaceName;
}
