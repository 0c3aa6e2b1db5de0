/** Texts about rentals that the CLI and the console share. */

export interface StateFields {
  readonly status: string;
  readonly power: 'on' | 'off' | 'changing';
  readonly gpuHeld: boolean;
}

/** The state as text. A stopped rental is Running in the API, so its power is shown instead. */
export function rentalStateText({ status, power, gpuHeld }: StateFields): string {
  if (status !== 'Running' || power === 'on') return status.toLowerCase();
  if (power === 'changing') return 'switching';
  return gpuHeld ? 'off, GPUs held' : 'off, GPUs released';
}

/** The reference of a rental in a command: its name, unless it needs quoting or looks like an id. */
export function rentalHandle({ id, name }: { readonly id: number; readonly name: string | null }): string {
  return name !== null && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && !/^\d+$/.test(name)
    ? name
    : String(id);
}
