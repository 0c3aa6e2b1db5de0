import type { Db } from '../db/index.ts';
import { findDeviceOrigin, saveDeviceOrigin } from './users.store.ts';
import { CLIENT_IP_HEADER } from './better-auth-options.ts';

/**
 * Adds the origin of a request to the library's device login, so that the user who approves it sees its address,
 * program and time. The response omits the link with the code: a victim of phishing would need only one click to
 * approve it.
 */
export async function withDeviceOrigin(db: Db, request: Request, response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  const { pathname } = new URL(request.url);
  if (request.method === 'POST' && pathname === '/auth/device/code') return saveOrigin(db, request, response);
  if (request.method === 'GET' && pathname === '/auth/device') return addOriginToResponse(db, response);
  return response;
}

async function saveOrigin(db: Db, { headers }: Request, response: Response): Promise<Response> {
  const { verification_uri_complete: _link, ...rest } = await bodyOf(response);
  const { user_code: userCode } = rest;
  if (typeof userCode === 'string') {
    const origin = { ip: headers.get(CLIENT_IP_HEADER) ?? '', userAgent: headers.get('user-agent') };
    await saveDeviceOrigin(db, userCode, origin);
  }
  return withBody(response, rest);
}

async function addOriginToResponse(db: Db, response: Response): Promise<Response> {
  const body = await bodyOf(response);
  const { user_code: userCode, client_id: program } = body;
  // The library names the program only to the user who may approve the request, so only that user sees the origin.
  const mayReview = typeof program === 'string' && typeof userCode === 'string';
  const origin = mayReview ? await findDeviceOrigin(db, plainCode(userCode)) : null;
  return withBody(response, origin === null ? body : { ...body, requestedFrom: origin });
}

/** Normalises a code to the form that the library stores. */
function plainCode(userCode: string): string {
  return userCode.replaceAll('-', '').toUpperCase();
}

async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

function withBody({ status, headers }: Response, body: Record<string, unknown>): Response {
  return new Response(JSON.stringify(body), { status, headers });
}
