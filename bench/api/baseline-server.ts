import Fastify from 'fastify';
import { Pool } from 'pg';

/**
 * What the framework and the driver cost by themselves: a route that answers a constant, and one that answers a row.
 * Started with the port and the address of a database; runs as a process of its own, as the api does.
 */
const [port = '', databaseUrl = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: databaseUrl, max: 10 });
const server = Fastify({ logger: false });

server.get('/constant', async () => ({ ok: true, name: 'a short answer' }));
server.get('/row', async () => {
  const { rows } = await pool.query<{ id: string }>(
    'select id, name, slug, status, created_at from organisations where slug = $1',
    ['bare'],
  );
  return { organisation: rows[0] ?? null };
});
server.get('/readyz', async () => ({ ok: true }));
await server.listen({ host: '127.0.0.1', port: Number(port) });
