import { eventTypes, isEventType } from '@millrace/contract';
import { z } from 'zod';

/** Just enough of a PostgreSQL client to ask one question. */
interface SqlClient {
  query<Row>(sql: string): Promise<{ readonly rows: readonly Row[] }>;
}

/** What was told of rentals and instances in other words than the contract has for it: nothing, or a defect. */
export async function findEventMismatches(client: SqlClient): Promise<readonly string[]> {
  const { rows } = await client.query<{ type: string; data: unknown }>(
    `select type, payload as data from outbox
     where kind = 'event' and resource_kind in ('rental', 'instance') order by seq`,
  );
  return rows.flatMap(({ type, data }) => {
    if (!isEventType(type)) return [`${type} is no type of event.`];
    const checked = z.strictObject(eventTypes[type].data.shape).safeParse(data);
    return checked.success ? [] : [`${type}: ${z.prettifyError(checked.error)}`];
  });
}
