import { createServer, type ServerResponse } from 'node:http';
import { Pool, type Dispatcher } from 'undici';

/** The smallest possible gateway in Node, as a process: forwards request and response unchanged, with backpressure. */
const [port = '', upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream, { allowH2: false, connections: 2_000, pipelining: 1 });

function relay(to: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (controller) => {
      to.on('close', () => {
        if (!to.writableFinished) controller.abort(new Error('the client disconnected'));
      });
      to.on('drain', () => controller.resume());
    },
    onResponseStart: (_controller, status, headers) => {
      const passed: Record<string, string | string[]> = {};
      for (const name of ['content-type', 'content-length']) {
        const value = headers[name];
        if (value !== undefined) passed[name] = value;
      }
      to.writeHead(status, passed);
    },
    onResponseData: (controller, chunk) => {
      if (!to.write(chunk)) controller.pause();
    },
    onResponseEnd: () => void to.end(),
    onResponseError: () => void to.destroy(),
  };
}

createServer((from, to) => {
  const chunks: Buffer[] = [];
  from.on('data', (chunk: Buffer) => chunks.push(chunk));
  from.on('end', () => {
    const method = from.method === 'POST' ? 'POST' : 'GET';
    const headers = { 'content-type': 'application/json' };
    pool.dispatch(
      { path: from.url ?? '/', method, headers, body: method === 'POST' ? Buffer.concat(chunks) : null },
      relay(to),
    );
  });
}).listen(Number(port), '127.0.0.1');
