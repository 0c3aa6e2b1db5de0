import { type TestLlama } from '@millrace/testing';
import {
  addDeployment,
  addModel,
  createCaller,
  deploymentOptionsFor,
  type Operator,
  CHAT_PRICES,
} from '../../stack/inference-tenant.ts';

export const MODEL = 'millrace-tiny';

export async function deployModel(
  apiUrl: string,
  key: string,
  engines: readonly [TestLlama, ...TestLlama[]],
): Promise<void> {
  const call = createCaller(apiUrl, key);
  const operator: Operator = {
    call,
    do: async (method, path, body) => {
      const { status, json } = await call(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(json)}`);
      return json;
    },
  };
  await addModel(operator, {
    name: MODEL,
    modality: 'chat',
    prices: CHAT_PRICES,
    contextLength: engines[0].contextLength,
  });
  for (const engine of engines) await addDeployment(operator, deploymentOptionsFor(engine, MODEL));
}
