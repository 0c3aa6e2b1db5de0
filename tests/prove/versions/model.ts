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

/** A chat model on sale, on one llama-server. */
export async function deployModel(apiUrl: string, key: string, llama: TestLlama): Promise<void> {
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
    contextLength: llama.contextLength,
  });
  await addDeployment(operator, deploymentOptionsFor(llama, MODEL));
}
