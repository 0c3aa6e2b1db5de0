import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

/**
 * What it costs to send these bytes at all: a bare server of Node that answers everything with a file it has in memory.
 * Started with the port and the file; runs as a process of its own, as the api does.
 */
const [port = '', file = ''] = process.argv.slice(2);
const bytes = await readFile(file);
createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-encoding': 'gzip',
      'content-length': bytes.length,
    });
    response.end(bytes);
  });
}).listen(Number(port), '127.0.0.1');
