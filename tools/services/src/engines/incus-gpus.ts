import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * The GPUs that each member of a cluster pretends to have: the layout of an eight-way SXM5 board, half of it on
 * each processor socket. The bus numbers are such as these boards have, and no machine of ours has devices there.
 * There is no card behind any of them: they can be counted, placed and attached, not computed on.
 */
export const simulatedGpus = {
  model: 'NVIDIA H100 80GB HBM3',
  vendorId: '0x10de',
  deviceId: '0x2330',
  /** PCI buses by NUMA node. */
  busesByNumaNode: [
    [0x1b, 0x43, 0x52, 0x61],
    [0x9d, 0xc3, 0xd1, 0xdf],
  ],
} as const;

/** What a program may ask to know that a member's hardware is not real; people are to be told so. */
export const simulationKey = 'user.millrace.simulated';

/** Says so wherever Incus shows a driver. */
const driverVersion = '550.54.15-simulated';

/** The class of a 3D controller, as data-centre GPUs call themselves; 0x03 is any display device. */
const controllerClass = '0x030200';
const displayClass = /^0x03/u;

export interface SimulatedGpu {
  /** The N of /dev/nvidiaN. */
  readonly minor: number;
  readonly pciAddress: string;
  readonly numaNode: number;
  readonly uuid: string;
}

/** The GPUs of one member. Their UUIDs are the same at every start and shared with no other site or member. */
export function gpusOf(portBase: number, memberName: string): SimulatedGpu[] {
  return simulatedGpus.busesByNumaNode
    .flatMap((buses, numaNode) => buses.map((bus) => ({ bus, numaNode })))
    .map(({ bus, numaNode }, minor) => ({
      minor,
      numaNode,
      pciAddress: `0000:${bus.toString(16).padStart(2, '0')}:00.0`,
      uuid: uuidOf(`${portBase}/${memberName}/${minor}`),
    }));
}

function uuidOf(seed: string): string {
  const hex = createHash('sha256').update(`simulated gpu ${seed}`).digest('hex');
  return `GPU-${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')}`;
}

/** The program that Incus asks about NVIDIA cards; ours knows one answer. */
export function renderContainerCli(gpus: readonly SimulatedGpu[]): string {
  const rows = gpus.map(({ minor, uuid, pciAddress }) =>
    [minor, minor, simulatedGpus.model, 'Simulated', uuid, pciAddress, '9.0'].join(','),
  );
  return [
    '#!/bin/sh',
    '# Simulated GPUs for development and tests: there is no such card in this machine.',
    '[ "$1" = info ] || exit 0',
    "cat <<'END'",
    'NVRM version,CUDA version',
    `${driverVersion},12.4`,
    '',
    'Device Index,Device Minor,Model,Brand,GPU UUID,Bus Location,Architecture',
    ...rows,
    'END',
    '',
  ].join('\n');
}

/**
 * Writes a folder that stands in for /sys/bus/pci/devices: the machine's own devices but for its display adapters,
 * and the simulated cards. `bin` beside it is put in front of the daemon's PATH.
 */
export function writeSimulation(folder: string, gpus: readonly SimulatedGpu[]): void {
  fs.rmSync(folder, { recursive: true, force: true });
  const pci = path.join(folder, 'pci');
  const driver = path.join(folder, 'drivers', 'nvidia');
  for (const made of [pci, path.join(driver, 'module'), path.join(folder, 'bin')]) {
    fs.mkdirSync(made, { recursive: true });
  }
  fs.writeFileSync(path.join(driver, 'module', 'version'), `${driverVersion}\n`);
  fs.writeFileSync(path.join(folder, 'bin', 'nvidia-container-cli'), renderContainerCli(gpus), {
    mode: 0o755,
  });
  for (const name of fs.readdirSync(pciDevices)) {
    const real = fs.realpathSync(path.join(pciDevices, name));
    if (displayClass.test(fs.readFileSync(path.join(real, 'class'), 'utf8'))) continue;
    fs.symlinkSync(real, path.join(pci, name));
  }
  for (const gpu of gpus) {
    const device = path.join(pci, gpu.pciAddress);
    fs.mkdirSync(device);
    const facts = {
      class: controllerClass,
      vendor: simulatedGpus.vendorId,
      device: simulatedGpus.deviceId,
      numa_node: gpu.numaNode,
    };
    for (const [name, value] of Object.entries(facts))
      fs.writeFileSync(path.join(device, name), `${value}\n`);
    fs.symlinkSync(driver, path.join(device, 'driver'));
  }
}

/** Where Linux lists PCI devices, and where a member sees the simulated ones instead. */
export const pciDevices = '/sys/bus/pci/devices';
