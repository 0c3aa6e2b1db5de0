import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import {
  startCommand,
  type EmulatedMachine,
  type MachineRuntime,
  type RunningSystem,
} from '@millrace/testing';
import { unshareArgs } from '../builds/build-cache.ts';

/**
 * Ironic checks the URLs that it gives to machines, so a name must work on both sides. In QEMU's user network the host is the
 * router, and the ramdisk resolves `localhost` to it.
 */
export const hostForMachines = 'localhost';
const agentPort = 9_999;
const sshPort = 22;
/** The agent accepts only disks of at least four gibibytes. */
const diskBytes = 5 * 1_073_741_824;
const memoryMebibytes = 2_048;
const chunkBytes = 16 * 1_048_576;
const sectorBytes = 512;
const tableSignature = Buffer.from([0x55, 0xaa]);

/** A machine emulated in software: it really runs what Ironic boots, and its disk can be searched. */
export interface QemuRuntime {
  readonly boot: MachineRuntime;
  /** Output of firmware and kernels on the serial line. */
  console(): string;
  searchDisk(words: readonly string[]): Promise<DiskContent>;
}

export interface DiskContent {
  /** Whether the disk starts with a partition table that a BIOS can boot. */
  readonly hasTable: boolean;
  readonly firstByteAt: number | null;
  readonly found: readonly string[];
}

export function createQemuRuntime(folder: string, unpacked: string): QemuRuntime {
  const at = (name: string): string => path.join(folder, name);
  const [disk, consoleLog] = [at('disk.raw'), at('console.log')];
  for (const file of [disk, consoleLog]) writeFileSync(file, '');
  truncateSync(disk, diskBytes);

  const boot: MachineRuntime = async (machine, from) => {
    const words = [
      ...hardware(machine, disk, consoleLog),
      '-boot',
      from === 'cd' ? 'order=c,once=d' : 'order=c',
    ];
    if (machine.media !== null) {
      writeFileSync(at('cd.iso'), machine.media.image);
      words.push('-drive', `file=${at('cd.iso')},media=cdrom,readonly=on,format=raw`);
    }
    const qemu = await startCommand({
      name: 'qemu',
      file: 'unshare',
      args: unshareArgs(unpacked, 'qemu-system-x86_64', ...words),
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      folder,
    });
    let isSwitchedOff = false;
    void qemu.exited.then(async () => {
      if (isSwitchedOff) return;
      writeFileSync(consoleLog, `\nThe machine is off. ${qemu.output()}\n`, { flag: 'a' });
      await machine.powerOff();
    });
    return {
      [Symbol.asyncDispose]: async () => {
        isSwitchedOff = true;
        await qemu.crash();
      },
    } satisfies RunningSystem;
  };

  return {
    boot,
    console: () => readFileSync(consoleLog, 'latin1'),
    searchDisk: (words) => searchFile(disk, words),
  };
}

async function searchFile(disk: string, words: readonly string[]): Promise<DiskContent> {
  const [bytes, zeros] = [Buffer.alloc(chunkBytes), Buffer.alloc(chunkBytes)];
  const found = new Set<string>();
  let firstByteAt: number | null = null;
  await using file = await open(disk);
  const first = Buffer.alloc(sectorBytes);
  await file.read(first, 0, sectorBytes, 0);
  for (let start = 0; start < diskBytes; start += chunkBytes) {
    await file.read(bytes, 0, chunkBytes, start);
    if (bytes.equals(zeros)) continue;
    firstByteAt ??= start + bytes.findIndex((byte) => byte !== 0);
    for (const word of words) if (bytes.includes(word)) found.add(word);
  }
  return { hasTable: first.subarray(-2).equals(tableSignature), firstByteAt, found: [...found] };
}

/** SSH and agent ports are forwarded from the address of the emulated BMC's machine. */
function hardware({ address, mac, uuid }: EmulatedMachine, disk: string, consoleLog: string): string[] {
  const forward = (port: number): string => `hostfwd=tcp:${address}:${port}-:${port}`;
  return [
    ...['-nodefaults', '-display', 'none', '-accel', 'tcg,thread=multi', '-smp', '2'],
    // QEMU of Debian 12 emulates cmpxchg16b wrongly, and newer kernels use it if the CPU has it.
    ...['-cpu', 'qemu64,-cx16'],
    ...['-m', String(memoryMebibytes), '-uuid', uuid],
    ...['-chardev', `file,id=line,path=${consoleLog},append=on`, '-serial', 'chardev:line'],
    // Written zeros become holes, so that wiping the disk does not fill the host's.
    '-drive',
    `file=${disk},if=virtio,format=raw,cache=unsafe,discard=unmap,detect-zeroes=unmap`,
    ...['-netdev', `user,id=net,${forward(sshPort)},${forward(agentPort)}`],
    ...['-device', `virtio-net-pci,netdev=net,mac=${mac}`, '-device', 'virtio-rng-pci'],
  ];
}
