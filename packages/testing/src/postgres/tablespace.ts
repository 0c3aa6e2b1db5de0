import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';

// A clone of the template is a thousand small files, and a run makes hundreds of clones. ext4 does not give out the inode of a
// file again for a minute after its deletion, and looks at each such inode whenever it makes a file: with a clone deleted each
// second, making the next one took over a second of processor time. In memory it takes a tenth of that. Nothing is lost by it:
// no test turns the machine off.

const memoryFolder = '/dev/shm';
const folderPrefix = 'millrace-tests-';
const tablespaceName = 'millrace_tests';
/** Says whose it is, for whoever finds it later. */
const ownerFile = 'data-directory';
/** A small container has 64 MB there, which is not enough for what one run holds at once. */
const memoryNeededBytes = 2 * 1024 ** 3;

async function hasMemory(): Promise<boolean> {
  if (process.getuid?.() !== 0 || !existsSync(memoryFolder)) return false;
  const { bavail, bsize } = await statfs(memoryFolder);
  return bavail * bsize >= memoryNeededBytes;
}

async function dataDirectory(client: Client): Promise<string> {
  const { rows } = await client.query<{ data_directory: string }>('show data_directory');
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL did not say where its data is.');
  return row.data_directory;
}

/** What servers that are gone left in memory. */
async function removeOrphans(): Promise<void> {
  for (const name of await readdir(memoryFolder)) {
    if (!name.startsWith(folderPrefix)) continue;
    const owner = await readFile(join(memoryFolder, name, ownerFile), 'utf8').catch(() => null);
    // One without a name is being made by another checkout at this moment.
    if (owner !== null && !existsSync(owner))
      await rm(join(memoryFolder, name), { recursive: true, force: true });
  }
}

/**
 * The tablespace in memory for test databases of the server that `client` is connected to; null where there is no memory for
 * it, or where the server is not on this machine. Whoever calls holds a lock, and has dropped what a restart of the machine
 * took from under the tablespace.
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
  // A server that was set up anew at the same place knows nothing of what its predecessor left.
  await rm(location, { recursive: true, force: true });
  const { uid, gid } = await stat(owner);
  await mkdir(location, { recursive: true });
  await writeFile(join(folder, ownerFile), owner);
  await chown(location, uid, gid);
  await client.query(`create tablespace ${tablespaceName} location '${location}'`);
  return tablespaceName;
}
