import type { GpuType } from '@millrace/contract';
import type { GpuFormFactor } from './nodes.ts';

/** What the models of a maker are sold as. Pure. */

/** What a node is sold as. `other`: a model that rentals do not offer, and that only the marketplace sells, by its name. */
export type FleetGpuType = GpuType | 'other';

export interface GpuModel {
  readonly gpuType: GpuType;
  readonly formFactor: GpuFormFactor;
  /** What the device itself reports, for engines that do not tell. */
  readonly ramMb: number;
}

/**
 * By the names that NVIDIA's driver and the PCI database give them. Whole names only: `GH200` is no H200, and a slice of
 * a card (`H100 MIG 1g.10gb`, `H100-80C`) is no card.
 */
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

/** Null for models that rentals do not offer. */
export function findGpuModel(text: string): GpuModel | null {
  // The PCI database puts the product in brackets behind the chip: `GH100 [H100 SXM5 80GB]`.
  const product = /\[([^\]]{1,100})\]\s*$/.exec(text)?.[1] ?? text;
  const name = product
    .toUpperCase()
    .replace(/^NVIDIA(?: CORPORATION)? /, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return models.find((entry) => entry.name.test(name))?.model ?? null;
}

/** Whether this is all that an engine says of a card of which it has no name: its maker and a number. */
export function isUnnamedModel(text: string): boolean {
  return /^(?:NVIDIA|AMD|Habana) (?:[0-9a-f]{4}|GPU)$/i.test(text);
}

/** The newest CUDA of a driver as a number: 12.8 is 1208. */
export function parseCudaVersion(version: string): number | null {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,2})(?:\.|$)/.exec(version) ?? [];
  return major === undefined || minor === undefined ? null : Number(major) * 100 + Number(minor);
}
