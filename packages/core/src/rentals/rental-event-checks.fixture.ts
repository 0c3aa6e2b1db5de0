import { eventTypes, isEventType } from '@millrace/contract';
import { z } from 'zod';

interface SqlClient {
  query<Row>(sql: string): Promise<{ readonly rows: readonly Row[] }>;
}

/** Lists events of rentals and instances whose type or data does not match the contract. */
export async function findEventMismatches(client: SqlClient): Promise<readonly string[]> {
  const { rows } = await client.query<{ type: string; data: unknown }>(
    `select type, payload as data from outbox
     where kind = 'event' and resource_kind in ('rental', 'instance') order by seq`,
  );
  return rows.flatMap(({ type, data }) => {
    if (!isEventType(type)) return [`${type} is not an event type.`];
    const checked = z.strictObject(eventTypes[type].data.shape).safeParse(data);
    return checked.success ? [] : [`${type}: ${z.prettifyError(checked.error)}`];
  });
}
