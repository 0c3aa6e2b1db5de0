import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';

import { allPids, commandLine } from './processes.ts';

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Inode of the socket that listens on a port, from the text of /proc/net/tcp or tcp6. */
export function listeningInode(table: string, port: number): string | null {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  for (const line of table.split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/u);
    const [, local, , state] = fields;
    // 0A is LISTEN in the kernel's table of TCP states.
    if (state === '0A' && local?.endsWith(`:${hexPort}`) === true) return fields[9] ?? null;
  }
  return null;
}

export interface PortHolder {
  readonly pid: number;
  readonly command: string;
}

/** The process that listens on a port, if this user may see it. */
export function portHolder(port: number): PortHolder | null {
  const inode =
    listeningInode(readFileSync('/proc/net/tcp', 'utf8'), port) ??
    listeningInode(readTableOrEmpty('/proc/net/tcp6'), port);
  if (inode === null) return null;
  for (const pid of allPids()) {
    if (holdsSocket(pid, inode)) return { pid, command: commandLine(pid) };
  }
  return null;
}

/** A kernel without IPv6 has no such table. */
function readTableOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Processes of other users and processes that end during the scan cannot be listed and are skipped. */
function holdsSocket(pid: number, inode: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => linkTarget(`${folder}/${fd}`) === `socket:[${inode}]`);
  } catch {
    return false;
  }
}

function linkTarget(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
