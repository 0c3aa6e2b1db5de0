import type { PortMapping } from '@millrace/compute';
import type { Reader } from '@millrace/platform/db';
import { sql } from 'kysely';
import { onlineInstances } from '../../rentals/index.ts';

/** SQL about hostnames. */

export interface OnlineInstance {
  readonly name: string;
  readonly host: string;
  readonly ports: readonly PortMapping[];
  /** Whether the host is a supplier's and therefore untrusted. */
  readonly isSupplied: boolean;
}

interface OnlineRow {
  name: string;
  address: string;
  ports: unknown;
  is_supplied: boolean;
}

/** Instances have hostnames from hand-over until termination, also while their engine is silent. */
export async function readOnlineInstances(reader: Reader): Promise<OnlineInstance[]> {
  const { rows } = await sql<OnlineRow>`
    select instance.name, machine.address, machine.ports, machine.is_supplied
      from ${onlineInstances} as machine
      join instances as instance on instance.rental_id = machine.rental_id
     order by instance.name
  `.execute(reader.kysely);
  return rows.map((row) => ({
    name: row.name,
    host: row.address,
    ports: row.ports as readonly PortMapping[],
    isSupplied: row.is_supplied,
  }));
}
