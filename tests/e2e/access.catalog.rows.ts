import { contract, type OperationId } from '@millrace/contract';
import { testIds, uniqueId } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of the operator's models and deployments. Each row creates its own model. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});

const modelChange = { enabled: false, reason: 'no engine for it' };

const newModel = () => ({ name: `maker/${uniqueId()}`, modality: 'chat', ownedBy: 'maker' });
const newDeployment = (model: string) => ({
  ...{ model, engine: 'llama.cpp', address: 'https://10.0.0.1:8080' },
  ...{ region: 'us-central-1', apiKey: 'sk-engine' },
});

export const catalogAccessRows: Partial<Record<OperationId, AccessRow>> = {
  adminListModels: { caller: 'operator', own: noInput, others: 'none' },
  adminCreateModel: { caller: 'operator', own: async () => ({ body: newModel() }), others: 'none' },
  adminUpdateModel: {
    caller: 'operator',
    own: async (harness) => ({ params: { name: await insertModel(harness) }, body: modelChange }),
    others: { absent: { params: { name: 'maker/nobody' }, body: modelChange }, foreign: 'operators see all' },
  },
  adminListDeployments: { caller: 'operator', own: noInput, others: 'none' },
  adminCreateDeployment: {
    caller: 'operator',
    own: async (harness) => ({ body: newDeployment(await insertModel(harness)) }),
    others: { absent: { body: newDeployment('maker/nobody') }, foreign: 'operators see all' },
  },
  adminUpdateDeployment: deploymentRow({ body: { weight: 7 } }),
  adminDeleteDeployment: deploymentRow({}),
};

async function insertModel(harness: Harness): Promise<string> {
  const made = await callOperation(
    harness,
    operations.adminCreateModel,
    { body: newModel() },
    harness.operator.owner.key,
  );
  return made.json.name as string;
}

function deploymentRow(input: CallInput): AccessRow {
  return {
    caller: 'operator',
    own: async (harness) => {
      const body = newDeployment(await insertModel(harness));
      const { key } = harness.operator.owner;
      const made = await callOperation(harness, operations.adminCreateDeployment, { body }, key);
      return { ...input, params: { deploymentId: made.json.id as string } };
    },
    others: {
      absent: { ...input, params: { deploymentId: testIds.next('dep') } },
      foreign: 'operators see all',
    },
  };
}
