// oxlint-disable-next-line typescript/no-explicit-any -- a seed reads fields of answers that it depends on
type Json = any;
export type Call = (method: string, path: string, body?: object) => Promise<Json>;

/** Calls the API with this key. An error status throws. */
export function createCaller(apiUrl: string, key: string): Call {
  return async (method, path, body) => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
}
