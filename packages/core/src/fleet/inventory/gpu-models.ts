import type { GpuType } from '@millrace/contract';
import type { GpuFormFactor } from './nodes.ts';

/** Maps the model names that engines report to the GPU types that we sell. Pure. */

/** `other` is a model that rentals do not offer; only the marketplace sells it, under its model name. */
export type FleetGpuType = GpuType | 'other';

export interface GpuModel {
  readonly gpuType: GpuType;
  readonly formFactor: GpuFormFactor;
  /** The memory that the device reports; used if the engine reports none. */
  readonly ramMb: number;
}

/** Patterns match whole names: `GH200` is no H200, and part of a card (`H100 MIG 1g.10gb`) is no card. */
const models: readonly { readonly name: RegExp; readonly model: GpuModel }[] = [
  { name: /^H100 80GB HBM3$/, model: { gpuType: 'h100', formFactor: 'sxm5', ramMb: 81_559 } },
  { name: /^H100 SXM5?(?: 80GB)?$/, model: { gpuType: 'h100', formFactor: 'sxm5', ramMb: 81_559 } },
  { name: /^H100 PCIE(?: 80GB)?$/, model: { gpuType: 'h100', formFactor: 'pcie', ramMb: 81_559 } },
  { name: /^H100(?: NVL|L 94GB)$/, model: { gpuType: 'h100', formFactor: 'pcie', ramMb: 95_830 } },
  { name: /^H200(?: SXM5?)?(?: 141GB)?$/, model: { gpuType: 'h200', formFactor: 'sxm5', ramMb: 143_771 } },
  { name: /^H200 NVL$/, model: { gpuType: 'h200', formFactor: 'pcie', ramMb: 143_771 } },
  {
    name: /^B200(?: SXM6?)?(?: 1[89]\dGB)?$/,
    model: { gpuType: 'b200', formFactor: 'sxm6', ramMb: 183_359 },
  },
];

/** Returns null for models that rentals do not offer. */
export function findGpuModel(text: string): GpuModel | null {
  // The PCI database writes the product in brackets after the chip: `GH100 [H100 SXM5 80GB]`.
  const product = /\[([^\]]{1,100})\]\s*$/.exec(text)?.[1] ?? text;
  const name = product
    .toUpperCase()
    .replace(/^NVIDIA(?: CORPORATION)? /, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return models.find((entry) => entry.name.test(name))?.model ?? null;
}

/** Whether the engine reported only a vendor and a device number because it has no model name. */
export function isUnnamedModel(text: string): boolean {
  return /^(?:NVIDIA|AMD|Habana) (?:[0-9a-f]{4}|GPU)$/i.test(text);
}

/** Converts a CUDA version to a comparable number: 12.8 becomes 1208. */
export function parseCudaVersion(version: string): number | null {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,2})(?:\.|$)/.exec(version) ?? [];
  return major === undefined || minor === undefined ? null : Number(major) * 100 + Number(minor);
}
