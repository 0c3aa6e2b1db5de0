import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { contract, type Operation } from '@millrace/contract';
import { buildDocument, documentNames, type OpenApiDocument } from '@millrace/contract/openapi';
import type { CallResponse } from '@millrace/testing';

/** Describes what is wrong with a response according to the published documents; null if it is correct. */
export type ResponseChecker = (
  operation: Operation,
  response: Pick<CallResponse, 'status' | 'text' | 'json'>,
) => string | null;

export function createResponseChecker(): ResponseChecker {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  const documents = new Map<string, OpenApiDocument>();
  const validators = new Map<string, ValidateFunction>();
  for (const name of documentNames) {
    const document = buildDocument(contract, name);
    documents.set(name, document);
    ajv.addSchema(document as object, name);
  }
  return (operation, response) => {
    if (response.status >= 500) return `answered ${response.status}: ${response.text.slice(0, 300)}`;
    const document = documents.get(operation.document);
    const pointer = resolvePointer(document, responsePointer(operation, response.status));
    const declared = lookUp(document, pointer);
    if (declared === undefined)
      return `answered ${response.status}, which it does not declare: ${response.text.slice(0, 300)}`;
    if (response.status === 204) return response.text === '' ? null : 'answered 204 with a body';
    const { contentType } = operation.response;
    // Files have no schema; check only that they are not empty.
    if (contentType !== undefined && response.status === operation.response.status) {
      return response.text === '' ? `answered an empty ${contentType}` : null;
    }
    const where = `${operation.document}#${[...pointer, 'content', 'application/json', 'schema'].map(escape).join('')}`;
    const validate = validators.get(where) ?? ajv.compile({ $ref: where });
    validators.set(where, validate);
    return validate(response.json) ? null : `answered outside its schema: ${ajv.errorsText(validate.errors)}`;
  };
}

function responsePointer(operation: Operation, status: number): readonly string[] {
  return ['paths', operation.path, operation.method.toLowerCase(), 'responses', String(status)];
}

/** Error responses are shared components, so a `$ref` is followed. */
function resolvePointer(document: unknown, pointer: readonly string[]): readonly string[] {
  const ref: unknown = lookUp(document, [...pointer, '$ref']);
  return typeof ref === 'string' ? ref.replace('#/', '').split('/') : pointer;
}

function lookUp(document: unknown, pointer: readonly string[]): unknown {
  return pointer.reduce<unknown>(
    (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
    document,
  );
}

function escape(name: string): string {
  return `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
}
