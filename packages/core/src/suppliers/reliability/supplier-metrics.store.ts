import type { Reader } from '@millrace/platform/db';
import { sql } from 'kysely';
import type { EnrolmentStage } from '../account/suppliers.ts';

export async function countByStage(reader: Reader): Promise<ReadonlyMap<EnrolmentStage, number>> {
  const { rows } = await sql<{ stage: EnrolmentStage; machines: bigint }>`
    select stage, count(*) as machines from supplier_machines group by stage
  `.execute(reader.kysely);
  return new Map(rows.map(({ stage, machines }) => [stage, Number(machines)]));
}

/** Upper bounds of the score bands in ppm; the last is above all scores. */
export const scoreBands = [500_000, 800_000, 900_000, 950_000, 990_000, 1_000_001] as const;

/** Enrolled machines in each band, in order. */
export async function countByScore(reader: Reader): Promise<readonly number[]> {
  const { rows } = await sql<{ band: number; machines: bigint }>`
    select width_bucket(trust.score_ppm, ${[...scoreBands]}::int[]) as band, count(*) as machines
      from supplier_machine_trust as trust
      join supplier_machines as machine on machine.id = trust.machine_id and machine.stage = 'enrolled'
     group by band
  `.execute(reader.kysely);
  const counted = new Map(rows.map(({ band, machines }) => [band, Number(machines)]));
  return scoreBands.map((_, index) => counted.get(index) ?? 0);
}
