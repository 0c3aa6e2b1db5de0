/** Rentals in words, the same for everybody who shows them. */

export interface StateFields {
  readonly status: string;
  readonly power: 'on' | 'off' | 'changing';
  readonly gpuHeld: boolean;
}

/** Statuses in words that say what matters: a rental that is off is Running to the API. */
export function rentalStateText({ status, power, gpuHeld }: StateFields): string {
  if (status !== 'Running' || power === 'on') return status.toLowerCase();
  if (power === 'changing') return 'switching';
  return gpuHeld ? 'off, GPUs held' : 'off, GPUs given back';
}

/** How to write a rental in a command: by the name that people know it by, unless it needs quoting or looks like a number. */
export function rentalHandle({ id, name }: { readonly id: number; readonly name: string | null }): string {
  return name !== null && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && !/^\d+$/.test(name)
    ? name
    : String(id);
}
