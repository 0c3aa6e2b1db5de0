import type { PortMapping } from '@millrace/compute';
import type { Reader } from '@millrace/platform/db';
import { sql } from 'kysely';
import { onlineInstances } from '../../rentals/index.ts';

/** All SQL about names. */

/** An instance that is online and has ports of its tenant's choice. */
export interface OnlineInstance {
  readonly name: string;
  /** Where its ports are opened, in the words of its engine. */
  readonly host: string;
  readonly ports: readonly PortMapping[];
  /** Whether its host is a supplier's, whose word is not believed. */
  readonly isSupplied: boolean;
}

interface OnlineRow {
  name: string;
  address: string;
  ports: unknown;
  is_supplied: boolean;
}

/**
 * An instance has its names from the moment that its tenant was let in until its end was accepted, also while its engine is
 * silent: its machine may well go on without it. Machines of test keys are not there for anybody else.
 */
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
