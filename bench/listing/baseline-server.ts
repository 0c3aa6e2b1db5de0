import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

/** Cost of sending the bytes alone: a Node server that returns a file from memory. Runs as a process with a port and the file. */
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
