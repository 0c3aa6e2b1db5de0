import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * Simulated GPUs of each host, laid out like an eight-way SXM5 board, at bus numbers that our machines do not use.
 * The GPUs can be listed, placed and attached, but not computed on.
 */
export const simulatedGpus = {
  model: 'NVIDIA H100 80GB HBM3',
  vendorId: '0x10de',
  deviceId: '0x2330',
  busesByNumaNode: [
    [0x1b, 0x43, 0x52, 0x61],
    [0x9d, 0xc3, 0xd1, 0xdf],
  ],
} as const;

/** Key by which programs detect simulated hardware. User interfaces must show it. */
export const simulationKey = 'user.millrace.simulated';

/** Shown wherever Incus prints a driver version. */
const driverVersion = '550.54.15-simulated';

/** PCI class of a 3D controller, which data-centre GPUs report; 0x03 is any display device. */
const controllerClass = '0x030200';
const displayClass = /^0x03/u;

export interface SimulatedGpu {
  /** The N of /dev/nvidiaN. */
  readonly minor: number;
  readonly pciAddress: string;
  readonly numaNode: number;
  readonly uuid: string;
}

/** The GPUs of one member. Their UUIDs are the same at every start and differ between sites and members. */
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

/** Replaces the program that Incus calls to list NVIDIA cards. */
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
 * Writes a /sys/bus/pci/devices in which simulated GPUs replace the display adapters. Its `bin` comes first in the daemon's PATH.
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

/** Linux lists PCI devices here; a member sees the simulated ones instead. */
export const pciDevices = '/sys/bus/pci/devices';
