import type { HttpServer, HttpServerOptions } from './types.ts';

export declare function createHttpServer(options: HttpServerOptions): HttpServer;
