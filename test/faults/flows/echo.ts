export default (flow: { input_value: unknown }): unknown => flow.input_value;
